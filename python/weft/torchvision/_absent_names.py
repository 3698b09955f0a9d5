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
            CelebA Cityscapes CocoCaptions CocoDetection Country211 DTD DatasetFolder EMNIST
            ETH3DStereo EuroSAT FER2013 FGVCAircraft FakeData FallingThingsStereo FashionMNIST
            Flickr30k Flickr8k Flowers102 FlyingChairs FlyingThings3D Food101 GTSRB HD1K HMDB51
            INaturalist ImageFolder ImageNet Imagenette InStereo2k KMNIST Kinetics Kitti
            Kitti2012Stereo Kitti2015Stereo KittiFlow LFWPairs LFWPeople LSUN LSUNClass MNIST
            Middlebury2014Stereo MovingMNIST Omniglot OxfordIIITPet PCAM PhotoTour Places365
            QMNIST RenderedSST2 SBDataset SBU SEMEION STL10 SUN397 SVHN SceneFlowStereo Sintel
            SintelStereo StanfordCars UCF101 USPS VOCDetection VOCSegmentation VisionDataset
            WIDERFace""",
        "datasets.folder": """
            DatasetFolder IMG_EXTENSIONS ImageFolder VisionDataset accimage_loader
            default_loader find_classes has_file_allowed_extension is_image_file make_dataset
            pil_loader""",
        "datasets.utils": """
            USER_AGENT calculate_md5 check_integrity check_md5 download_and_extract_archive
            download_file_from_google_drive download_url extract_archive iterable_to_str
            list_dir list_files verify_str_arg""",
        "datasets.vision": "StandardTransform VisionDataset",
    },
    MODELS: {
        "models.detection": """
            FCOS FCOS_ResNet50_FPN_Weights FasterRCNN
            FasterRCNN_MobileNet_V3_Large_320_FPN_Weights
            FasterRCNN_MobileNet_V3_Large_FPN_Weights FasterRCNN_ResNet50_FPN_V2_Weights
            FasterRCNN_ResNet50_FPN_Weights KeypointRCNN KeypointRCNN_ResNet50_FPN_Weights
            MaskRCNN MaskRCNN_ResNet50_FPN_V2_Weights MaskRCNN_ResNet50_FPN_Weights RetinaNet
            RetinaNet_ResNet50_FPN_V2_Weights RetinaNet_ResNet50_FPN_Weights
            SSD300_VGG16_Weights SSDLite320_MobileNet_V3_Large_Weights
            fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_mobilenet_v3_large_fpn
            fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 fcos_resnet50_fpn
            keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2
            retinanet_resnet50_fpn retinanet_resnet50_fpn_v2 ssd300_vgg16
            ssdlite320_mobilenet_v3_large""",
        "models.detection.anchor_utils": "AnchorGenerator DefaultBoxGenerator",
        "models.detection.backbone_utils": "BackboneWithFPN mobilenet_backbone resnet_fpn_backbone",
        "models.detection.faster_rcnn": """
            FastRCNNConvFCHead FastRCNNPredictor FasterRCNN
            FasterRCNN_MobileNet_V3_Large_320_FPN_Weights
            FasterRCNN_MobileNet_V3_Large_FPN_Weights FasterRCNN_ResNet50_FPN_V2_Weights
            FasterRCNN_ResNet50_FPN_Weights TwoMLPHead fasterrcnn_mobilenet_v3_large_320_fpn
            fasterrcnn_mobilenet_v3_large_fpn fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2""",
        "models.detection.generalized_rcnn": "GeneralizedRCNN",
        "models.detection.image_list": "ImageList",
        "models.detection.mask_rcnn": """
            MaskRCNN MaskRCNNHeads MaskRCNNPredictor MaskRCNN_ResNet50_FPN_V2_Weights
            MaskRCNN_ResNet50_FPN_Weights maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2""",
        "models.detection.retinanet": """
            RetinaNet RetinaNetClassificationHead RetinaNetHead RetinaNetRegressionHead
            RetinaNet_ResNet50_FPN_V2_Weights RetinaNet_ResNet50_FPN_Weights
            retinanet_resnet50_fpn retinanet_resnet50_fpn_v2""",
        "models.detection.roi_heads": """
            RoIHeads expand_boxes expand_masks expand_masks_tracing_scale fastrcnn_loss
            heatmaps_to_keypoints keypointrcnn_inference keypointrcnn_loss keypoints_to_heatmap
            maskrcnn_inference maskrcnn_loss paste_mask_in_image paste_masks_in_image
            project_masks_on_boxes""",
        "models.detection.rpn": """
            RPNHead RegionProposalNetwork concat_box_prediction_layers permute_and_flatten""",
        "models.detection.transform": "GeneralizedRCNNTransform resize_boxes resize_keypoints",
        "models.feature_extraction": """
            DualGraphModule LeafModuleAwareTracer NodePathTracer create_feature_extractor
            get_graph_node_names""",
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
        "models.segmentation": """
            DeepLabV3 DeepLabV3_MobileNet_V3_Large_Weights DeepLabV3_ResNet101_Weights
            DeepLabV3_ResNet50_Weights FCN FCN_ResNet101_Weights FCN_ResNet50_Weights LRASPP
            LRASPP_MobileNet_V3_Large_Weights deeplabv3_mobilenet_v3_large deeplabv3_resnet101
            deeplabv3_resnet50 fcn_resnet101 fcn_resnet50 lraspp_mobilenet_v3_large""",
        "models.segmentation.deeplabv3": """
            ASPP ASPPConv ASPPPooling DeepLabHead DeepLabV3 DeepLabV3_MobileNet_V3_Large_Weights
            DeepLabV3_ResNet101_Weights DeepLabV3_ResNet50_Weights deeplabv3_mobilenet_v3_large
            deeplabv3_resnet101 deeplabv3_resnet50""",
        "models.segmentation.fcn": """
            FCN FCNHead FCN_ResNet101_Weights FCN_ResNet50_Weights fcn_resnet101 fcn_resnet50""",
        "models.video": """
            MC3_18_Weights MViT MViT_V1_B_Weights MViT_V2_S_Weights R2Plus1D_18_Weights
            R3D_18_Weights S3D S3D_Weights Swin3D_B_Weights Swin3D_S_Weights Swin3D_T_Weights
            SwinTransformer3d VideoResNet mc3_18 mvit_v1_b mvit_v2_s r2plus1d_18 r3d_18 s3d
            swin3d_b swin3d_s swin3d_t""",
        "models.video.resnet": """
            BasicBlock BasicStem Bottleneck Conv2Plus1D Conv3DNoTemporal Conv3DSimple
            MC3_18_Weights R2Plus1D_18_Weights R2Plus1dStem R3D_18_Weights VideoResNet mc3_18
            r2plus1d_18 r3d_18""",
    },
}
