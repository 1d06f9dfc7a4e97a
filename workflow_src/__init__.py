"""Where does a Transformer training step's time go, on this machine, and how do you know?"""
