"""What can be known of policies without a pod: rules, and what runs them.

Pure: policies, their texts and a cluster's nodes come in, findings go out. A rule is a module of ``lint.rules``; it
knows neither its name's place in the registry nor other rules, nor what becomes of what it finds.
"""
