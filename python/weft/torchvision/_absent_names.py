"""The modules of torchvision that programs import and weft does not have: their public names, by the reason.

Importing them succeeds, so that a program that only uses them elsewhere runs; using a name raises with the reason.

source: the public names of torchvision 0.29.
"""

DATASETS = "weft reads images and tensors, and no data sets"
MODELS = "not written yet"

MODULES = {
    DATASETS: {
        "datasets": """
            CIFAR10 CIFAR100 CLEVRClassification CREStereo Caltech101 Caltech256 CarlaStereo
            CelebA Cityscapes CocoCaptions CocoDetection Country211 DTD EMNIST
            ETH3DStereo EuroSAT FER2013 FGVCAircraft FallingThingsStereo FashionMNIST
            Flickr30k Flickr8k Flowers102 FlyingChairs FlyingThings3D Food101 GTSRB HD1K HMDB51
            INaturalist ImageNet Imagenette InStereo2k KMNIST Kinetics Kitti
            Kitti2012Stereo Kitti2015Stereo KittiFlow LFWPairs LFWPeople LSUN LSUNClass MNIST
            Middlebury2014Stereo MovingMNIST Omniglot OxfordIIITPet PCAM PhotoTour Places365
            QMNIST RenderedSST2 SBDataset SBU SEMEION STL10 SUN397 SVHN SceneFlowStereo Sintel
            SintelStereo StanfordCars UCF101 USPS VOCDetection VOCSegmentation             WIDERFace""",
        "datasets.folder": "accimage_loader",
        "datasets.utils": """
            USER_AGENT calculate_md5 check_integrity check_md5 download_and_extract_archive
            download_file_from_google_drive download_url extract_archive iterable_to_str
            list_dir list_files verify_str_arg""",
    },
    MODELS: {
        "models.optical_flow": "RAFT Raft_Large_Weights Raft_Small_Weights raft_large raft_small",
        "models.quantization": """
            GoogLeNet_QuantizedWeights Inception_V3_QuantizedWeights
            MobileNet_V2_QuantizedWeights MobileNet_V3_Large_QuantizedWeights
            QuantizableGoogLeNet QuantizableInception3 QuantizableMobileNetV2
            QuantizableMobileNetV3 QuantizableResNet QuantizableShuffleNetV2
            ResNeXt101_32X8D_QuantizedWeights ResNeXt101_64X4D_QuantizedWeights
            ResNet18_QuantizedWeights ResNet50_QuantizedWeights
            ShuffleNet_V2_X0_5_QuantizedWeights ShuffleNet_V2_X1_0_QuantizedWeights
            ShuffleNet_V2_X1_5_QuantizedWeights ShuffleNet_V2_X2_0_QuantizedWeights googlenet
            inception_v3 mobilenet_v2 mobilenet_v3_large resnet18 resnet50 resnext101_32x8d
            resnext101_64x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5
            shufflenet_v2_x2_0""",
    },
}
