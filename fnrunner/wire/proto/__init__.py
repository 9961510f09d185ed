"""The wire: Porch's service definition, and the code generated from it (`make proto`)."""
