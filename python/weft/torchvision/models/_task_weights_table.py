"""Published weights of torchvision's models for segmentation, detection and video: the facts of each.

source: the attributes of torchvision 0.29's weights.
"""

# Weights, member, file, parameters, 10^9 operations, size in MiB, recipe, and further columns other=value: measures in
# percent; sizes of videos, the smallest side and the fewest frames.
ROWS = """
DeepLabV3_MobileNet_V3_Large COCO_WITH_VOC_LABELS_V1 deeplabv3_mobilenet_v3_large-fc3c493d 11029328 10.452 42.301 segmentation#deeplabv3_mobilenet_v3_large miou=60.3 pixel_acc=91.2
DeepLabV3_ResNet101 COCO_WITH_VOC_LABELS_V1 deeplabv3_resnet101_coco-586e9e4e 60996202 258.743 233.217 segmentation#fcn_resnet101 miou=67.4 pixel_acc=92.4
DeepLabV3_ResNet50 COCO_WITH_VOC_LABELS_V1 deeplabv3_resnet50_coco-cd0a2569 42004074 178.722 160.515 segmentation#deeplabv3_resnet50 miou=66.4 pixel_acc=92.4
FCN_ResNet101 COCO_WITH_VOC_LABELS_V1 fcn_resnet101_coco-7ecb50ca 54314346 232.738 207.711 segmentation#deeplabv3_resnet101 miou=63.7 pixel_acc=91.9
FCN_ResNet50 COCO_WITH_VOC_LABELS_V1 fcn_resnet50_coco-1167a1af 35322218 152.717 135.009 segmentation#fcn_resnet50 miou=60.5 pixel_acc=91.4
LRASPP_MobileNet_V3_Large COCO_WITH_VOC_LABELS_V1 lraspp_mobilenet_v3_large-d234d4ea 3221538 2.086 12.49 segmentation#lraspp_mobilenet_v3_large miou=57.9 pixel_acc=91.2
FasterRCNN_MobileNet_V3_Large_320_FPN COCO_V1 fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9 19386354 0.719 74.239 detection#faster-r-cnn-mobilenetv3-large-320-fpn box_map=22.8
FasterRCNN_MobileNet_V3_Large_FPN COCO_V1 fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7 19386354 4.494 74.239 detection#faster-r-cnn-mobilenetv3-large-fpn box_map=32.8
FasterRCNN_ResNet50_FPN COCO_V1 fasterrcnn_resnet50_fpn_coco-258fb6c6 41755286 134.38 159.743 detection#faster-r-cnn-resnet-50-fpn box_map=37.0
FasterRCNN_ResNet50_FPN_V2 COCO_V1 fasterrcnn_resnet50_fpn_v2_coco-dd69338a 43712278 280.371 167.104 pytorch/vision/pull/5763 box_map=46.7
FCOS_ResNet50_FPN COCO_V1 fcos_resnet50_fpn_coco-99b0c9b7 32269600 128.207 123.608 detection#fcos-resnet-50-fpn box_map=39.2
KeypointRCNN_ResNet50_FPN COCO_LEGACY keypointrcnn_resnet50_fpn_coco-9f466800 59137258 133.924 226.054 pytorch/vision/issues/1606 box_map=50.6 kp_map=61.1
KeypointRCNN_ResNet50_FPN COCO_V1 keypointrcnn_resnet50_fpn_coco-fc266e95 59137258 137.42 226.054 detection#keypoint-r-cnn box_map=54.6 kp_map=65.0
MaskRCNN_ResNet50_FPN COCO_V1 maskrcnn_resnet50_fpn_coco-bf2d0c1e 44401393 134.38 169.84 detection#mask-r-cnn box_map=37.9 mask_map=34.6
MaskRCNN_ResNet50_FPN_V2 COCO_V1 maskrcnn_resnet50_fpn_v2_coco-73cbd019 46359409 333.577 177.219 pytorch/vision/pull/5773 box_map=47.4 mask_map=41.8
RetinaNet_ResNet50_FPN COCO_V1 retinanet_resnet50_fpn_coco-eeacb38b 34014999 151.54 130.267 detection#retinanet box_map=36.4
RetinaNet_ResNet50_FPN_V2 COCO_V1 retinanet_resnet50_fpn_v2_coco-5905b1c5 38198935 152.238 146.037 pytorch/vision/pull/5756 box_map=41.5
SSD300_VGG16 COCO_V1 ssd300_vgg16_coco-b556d3b4 35641826 34.858 135.988 detection#ssd300-vgg16 box_map=25.1
SSDLite320_MobileNet_V3_Large COCO_V1 ssdlite320_mobilenet_v3_large_coco-a79551df 3440060 0.583 13.418 detection#ssdlite320-mobilenetv3-large box_map=21.3
MC3_18 KINETICS400_V1 mc3_18-a90a0ba3 11695440 43.343 44.672 video_classification acc@1=63.96 acc@5=84.13 crop=112,112 resize=128,171
MViT_V1_B KINETICS400_V1 mvit_v1_b-dbeb1030 36610672 70.599 139.764 facebookresearch/pytorchvideo/blob/main/docs/source/model_zoo.md acc@1=78.477 acc@5=93.582 crop=224,224 resize=256 mean=0.45,0.45,0.45 std=0.225,0.225,0.225 side=224 frames=16
MViT_V2_S KINETICS400_V1 mvit_v2_s-ae3be167 34537744 64.224 131.884 facebookresearch/SlowFast/blob/main/MODEL_ZOO.md acc@1=80.757 acc@5=94.665 crop=224,224 resize=256 mean=0.45,0.45,0.45 std=0.225,0.225,0.225 side=224 frames=16
R2Plus1D_18 KINETICS400_V1 r2plus1d_18-91a641e6 31505325 40.519 120.318 video_classification acc@1=67.463 acc@5=86.175 crop=112,112 resize=128,171
R3D_18 KINETICS400_V1 r3d_18-b3b3357e 33371472 40.697 127.359 video_classification acc@1=63.2 acc@5=83.479 crop=112,112 resize=128,171
S3D KINETICS400_V1 s3d-d76dad2f 8320048 17.979 31.972 video_classification#s3d acc@1=68.368 acc@5=88.05 crop=224,224 resize=256,256 side=224 frames=14
Swin3D_B KINETICS400_V1 swin3d_b_1k-24f7c7c6 88048984 140.667 364.134 SwinTransformer/Video-Swin-Transformer#kinetics-400 acc@1=79.427 acc@5=94.386 crop=224,224 resize=256 mean=0.485,0.456,0.406 std=0.229,0.224,0.225 frames=1
Swin3D_B KINETICS400_IMAGENET22K_V1 swin3d_b_22k-7c6ae6fa 88048984 140.667 364.134 SwinTransformer/Video-Swin-Transformer#kinetics-400 acc@1=81.643 acc@5=95.574 crop=224,224 resize=256 mean=0.485,0.456,0.406 std=0.229,0.224,0.225 frames=1
Swin3D_S KINETICS400_V1 swin3d_s-da41c237 49816678 82.841 218.288 SwinTransformer/Video-Swin-Transformer#kinetics-400 acc@1=79.521 acc@5=94.158 crop=224,224 resize=256 mean=0.485,0.456,0.406 std=0.229,0.224,0.225 frames=1
Swin3D_T KINETICS400_V1 swin3d_t-7615ae03 28158070 43.882 121.543 SwinTransformer/Video-Swin-Transformer#kinetics-400 acc@1=77.715 acc@5=93.519 crop=224,224 resize=256 mean=0.485,0.456,0.406 std=0.229,0.224,0.225 frames=1
"""
