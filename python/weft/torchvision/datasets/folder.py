"""Images in folders, one folder a class."""

import os

from weft.torch import _absent

from .vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename, extensions):
    """Does the name end with one of them, in small letters or capitals?"""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename):
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory):
    """Names of the folders in a folder, and from each its number. FileNotFoundError where there is none."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(directory, class_to_idx=None, extensions=None, is_valid_file=None, allow_empty=False):
    """(path, class) of the files below the folders of classes, those that end with `extensions` or are valid; by name."""
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    if is_valid_file is None:
        is_valid_file = lambda path: has_file_allowed_extension(path, extensions)  # noqa: E731
    found, seen = [], set()
    for name in sorted(class_to_idx):
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            for file in sorted(files):
                path = os.path.join(folder, file)
                if is_valid_file(path):
                    found.append((path, class_to_idx[name]))
                    seen.add(name)
    missing = sorted(set(class_to_idx) - seen)
    if missing and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(missing)}. "
        if extensions is not None:
            names = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f"Supported extensions are: {names}"
        raise FileNotFoundError(message)
    return found


def pil_loader(path):
    """The image of a file as RGB."""
    from PIL import Image

    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


default_loader = pil_loader


class DatasetFolder(VisionDataset):
    """Files below root/CLASS, read by loader: (sample, class) by number. Attributes: classes, class_to_idx, samples, targets."""

    def __init__(self, root, loader, extensions=None, transform=None, target_transform=None, is_valid_file=None,
                 allow_empty=False):  # fmt: skip
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.loader, self.extensions = loader, extensions
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(directory, class_to_idx, extensions=None, is_valid_file=None, allow_empty=False):
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory):
        return find_classes(directory)

    def __getitem__(self, index):
        path, target = self.samples[index]
        sample = self.loader(path)
        sample = sample if self.transform is None else self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)

    def __len__(self):
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images below root/CLASS: (image, class) by number."""

    def __init__(self, root, transform=None, target_transform=None, loader=default_loader, is_valid_file=None,
                 allow_empty=False):  # fmt: skip
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples


__getattr__ = _absent.names(__name__)
