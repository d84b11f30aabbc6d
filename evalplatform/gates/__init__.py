"""Gates: what makes a decision fail, how surely, by which history, with how many runs; and the certificate that anyone can check."""
