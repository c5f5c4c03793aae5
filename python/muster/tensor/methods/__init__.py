"""The methods of Tensor, by family."""
