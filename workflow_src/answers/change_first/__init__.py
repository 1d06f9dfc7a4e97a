"""(f) What should one change first?"""
