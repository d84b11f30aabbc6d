"""Labels: what people said of answers, read from files."""
