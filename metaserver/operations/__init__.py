"""Operations of a running hub, each declared once for every interface.

It has no HTTP and no pages. It may import archive and all below.
"""
