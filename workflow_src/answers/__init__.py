"""The questions, one module each: joined tables in, an answer with its evidence out."""
