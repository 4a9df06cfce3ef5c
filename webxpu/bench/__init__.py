"""How fast a device is: its own ceilings, and operations as a fraction of them."""
