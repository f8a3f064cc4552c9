"""The stack of a deployment on AWS, made from the declared table."""
