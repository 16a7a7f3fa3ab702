"""Arguments that nobody gave: what a source shows about its parameters, and a search that follows the errors."""
