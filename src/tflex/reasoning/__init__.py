"""The reasoners: exact answers, embeddings, and the frequencies that they are compared with."""
