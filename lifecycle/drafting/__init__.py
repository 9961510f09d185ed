"""What a draft that somebody asks for does to its package: files in, files and conflicts out."""
