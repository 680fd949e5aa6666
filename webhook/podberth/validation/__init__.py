"""What is wrong with a workload's group whatever the policies say: one check per concern, told as warnings.

A workload's pods as they will come, and what is known of the cluster, in; places and words out. Nothing is denied here,
and what is not known is not told.
"""
