// A target needs a source to own a precompiled header; gmock_main brings the main function.
