"""torch.utils.collect_env's names: what runs here, for reports."""

import platform


def get_pretty_env_info():
    import weft

    from .. import _table

    return "\n".join(
        (
            f"PyTorch version: {_table.TORCH_VERSION} (weft.torch of weft {weft.__version__})",
            "Is debug build: False",
            "CUDA used to build PyTorch: None",
            f"OS: {platform.platform()}",
            f"Python version: {platform.python_version()}",
            "Is CUDA available: False",
        )
    )


def main():
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
