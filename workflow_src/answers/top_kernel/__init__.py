"""(b) Which kernel takes the most time, and how often is it called?"""
