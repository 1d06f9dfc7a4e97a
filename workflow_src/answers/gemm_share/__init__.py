"""(d) How does the share of matrix products change from inference to training?"""
