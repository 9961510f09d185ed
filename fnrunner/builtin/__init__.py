"""The functions of the catalog that are built in, and the worker processes that run them."""
