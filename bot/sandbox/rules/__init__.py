"""The rules of the forge, a module for each subject, put together by `state`."""
