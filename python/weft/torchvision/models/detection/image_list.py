"""torchvision.models.detection.image_list: images of several sizes in one tensor."""


class ImageList:
    """tensors[n, c, h, w], each image at its upper left corner, and the (height, width) of each."""

    def __init__(self, tensors, image_sizes):
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device):
        """The same with tensors on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
