"""Git: mirrors of repositories on disk, their objects and refs, merges worked out, and pushes."""
