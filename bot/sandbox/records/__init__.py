"""The memory of the forge: records that change in place under its lock, and their indexes."""
