"""(c) What besides matrix products takes time in the forward pass?"""
