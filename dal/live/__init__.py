"""Live comments: what acknowledged writes tell those who listen, in one order with ids."""
