"""Function images: from a registry into the store, and from there into the fence."""
