"""Operations of a running hub, each declared once for every interface."""
