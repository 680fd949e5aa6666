"""What the controller makes for waiting pods, and what it reports of them. Pure: asked again after every change."""
