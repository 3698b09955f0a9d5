"""Pillow, which is needed for images only."""


def pillow(wanted_by):
    """The module PIL.Image; ImportError that names Pillow where it is not installed."""
    try:
        import PIL.Image
        import PIL.ImageEnhance
        import PIL.ImageOps
    except ModuleNotFoundError as error:
        raise ImportError(f"{wanted_by} needs Pillow: pip install pillow") from error
    return PIL


def is_pillow_image(value):
    """Is this one of Pillow's images? Pillow is not imported for that."""
    return any(cls.__module__.startswith("PIL.") for cls in type(value).__mro__)
