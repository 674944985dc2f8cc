"""Query embeddings: operators, logic, distances, losses, and the models made of them."""
