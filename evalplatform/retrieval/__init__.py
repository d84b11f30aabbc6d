"""Retrieval: chunks, lexical scores, reranking, and an inverted index with deterministic ties."""
