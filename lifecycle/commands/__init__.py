"""Commands in comments: found in Markdown, read into values, answered by stage and right."""
