"""Operations of a running hub, each declared once for every interface.

It has no HTTP and no pages. It may import results and all below.
"""
