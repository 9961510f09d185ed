"""Three states made into one: values, comments, documents, files of resources, Kptfiles."""
