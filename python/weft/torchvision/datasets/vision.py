"""What data sets of images have in common."""

import os

from weft.torch.utils.data import Dataset


class StandardTransform:
    """transform of the image, and target_transform of its target; None for either leaves it as it is."""

    def __init__(self, transform=None, target_transform=None):
        self.transform, self.target_transform = transform, target_transform

    def __call__(self, input, target):
        input = input if self.transform is None else self.transform(input)
        return input, target if self.target_transform is None else self.target_transform(target)

    def __repr__(self):
        lines = [type(self).__name__]
        for title, each in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if each is not None:
                first, *rest = repr(each).splitlines()
                lines += [title + first, *(" " * len(title) + one for one in rest)]
        return "\n".join(lines)


class VisionDataset(Dataset):
    """A data set in the folder root. transforms: a function of image and target; or one of each."""

    def __init__(self, root=None, transforms=None, transform=None, target_transform=None):
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform, self.target_transform = transform, target_transform
        if transform is not None or target_transform is not None:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def __repr__(self):
        lines = [f"Dataset {type(self).__name__}", f"    Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"    Root location: {self.root}")
        lines += ["    " + one for one in self.extra_repr().splitlines()]
        if self.transforms is not None:
            lines.append(repr(self.transforms))
        return "\n".join(lines)

    def extra_repr(self):
        return ""
