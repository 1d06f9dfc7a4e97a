"""The five questions, one module each: from aggregated tables to an answer with its evidence."""
