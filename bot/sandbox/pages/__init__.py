"""The forge's pages for people, over templates."""
