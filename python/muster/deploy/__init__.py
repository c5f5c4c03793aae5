"""How clusters are started."""
