"""The degradations, one file each. A new file joins by registering itself."""
