"""What passes over graphs share."""
