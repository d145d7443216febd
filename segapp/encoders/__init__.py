"""Vision networks that the user brings: kept, judged, and run in a process of their own.

Nothing here is loaded before somebody asks for an encoder, and the network's runtime never is in
this process.
"""
