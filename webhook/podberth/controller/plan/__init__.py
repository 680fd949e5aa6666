"""The objects that the controller makes for waiting pods, and its reports about them.

Pure: asked after every change.
"""
