"""What a projection is made of: the UMAP layout, how far a picture may be believed, the result."""
