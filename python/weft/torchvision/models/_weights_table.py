"""torchvision's published weights: the facts of each.

source: the attributes of torchvision 0.29's weights.
"""

# Weights, member, file, crop and resize sizes, smallest image, parameters, accuracy in percent among the first and the
# first five, 10^9 operations, size in MiB, recipe. Further columns: other=value.
ROWS = """
AlexNet IMAGENET1K_V1 alexnet-owt-7be5be79 224 256 63 61100840 56.522 79.066 0.714 233.087 #alexnet-and-vgg
ConvNeXt_Base IMAGENET1K_V1 convnext_base-6075fbad 224 232 32 88591464 84.062 96.87 15.355 338.064 #convnext
ConvNeXt_Large IMAGENET1K_V1 convnext_large-ea097f82 224 232 32 197767336 84.414 96.976 34.361 754.537 #convnext
ConvNeXt_Small IMAGENET1K_V1 convnext_small-0c510722 224 230 32 50223688 83.616 96.65 8.684 191.703 #convnext
ConvNeXt_Tiny IMAGENET1K_V1 convnext_tiny-983f1562 224 236 32 28589128 82.52 96.146 4.456 109.119 #convnext
DenseNet121 IMAGENET1K_V1 densenet121-a639ec97 224 256 29 7978856 74.434 91.972 2.834 30.845 pytorch/vision/pull/116
DenseNet161 IMAGENET1K_V1 densenet161-8d451a50 224 256 29 28681000 77.138 93.56 7.728 110.369 pytorch/vision/pull/116
DenseNet169 IMAGENET1K_V1 densenet169-b2777c0a 224 256 29 14149480 75.6 92.806 3.36 54.708 pytorch/vision/pull/116
DenseNet201 IMAGENET1K_V1 densenet201-c1103571 224 256 29 20013928 76.896 93.37 4.291 77.373 pytorch/vision/pull/116
EfficientNet_B0 IMAGENET1K_V1 efficientnet_b0_rwightman-7f5810bc 224 256 1 5288548 77.692 93.532 0.386 20.451 #efficientnet-v1 interpolation=bicubic
EfficientNet_B1 IMAGENET1K_V1 efficientnet_b1_rwightman-bac287d4 240 256 1 7794184 78.642 94.186 0.687 30.134 #efficientnet-v1 interpolation=bicubic
EfficientNet_B1 IMAGENET1K_V2 efficientnet_b1-c27df63c 240 255 1 7794184 79.838 94.934 0.687 30.136 pytorch/vision/issues/3995#new-recipe-with-lr-wd-crop-tuning
EfficientNet_B2 IMAGENET1K_V1 efficientnet_b2_rwightman-c35c1473 288 288 1 9109994 80.608 95.31 1.088 35.174 #efficientnet-v1 interpolation=bicubic
EfficientNet_B3 IMAGENET1K_V1 efficientnet_b3_rwightman-b3899882 300 320 1 12233232 82.008 96.054 1.827 47.184 #efficientnet-v1 interpolation=bicubic
EfficientNet_B4 IMAGENET1K_V1 efficientnet_b4_rwightman-23ab8bcd 380 384 1 19341616 83.384 96.594 4.394 74.489 #efficientnet-v1 interpolation=bicubic
EfficientNet_B5 IMAGENET1K_V1 efficientnet_b5_lukemelas-1a07897c 456 456 1 30389784 83.444 96.628 10.266 116.864 #efficientnet-v1 interpolation=bicubic
EfficientNet_B6 IMAGENET1K_V1 efficientnet_b6_lukemelas-24a108a5 528 528 1 43040704 84.008 96.916 19.068 165.362 #efficientnet-v1 interpolation=bicubic
EfficientNet_B7 IMAGENET1K_V1 efficientnet_b7_lukemelas-c5b4e57e 600 600 1 66347960 84.122 96.908 37.746 254.675 #efficientnet-v1 interpolation=bicubic
EfficientNet_V2_L IMAGENET1K_V1 efficientnet_v2_l-59c71312 480 480 33 118515272 85.808 97.788 56.08 454.573 #efficientnet-v2 interpolation=bicubic mean=0.5,0.5,0.5 std=0.5,0.5,0.5
EfficientNet_V2_M IMAGENET1K_V1 efficientnet_v2_m-dc08266a 480 480 33 54139356 85.112 97.156 24.582 208.01 #efficientnet-v2
EfficientNet_V2_S IMAGENET1K_V1 efficientnet_v2_s-dd5fe13b 384 384 33 21458488 84.228 96.878 8.366 82.704 #efficientnet-v2
GoogLeNet IMAGENET1K_V1 googlenet-1378be20 224 256 15 6624904 69.778 89.53 1.498 49.731 #googlenet
Inception_V3 IMAGENET1K_V1 inception_v3_google-0cc3c7bd 299 342 75 27161264 77.294 93.45 5.713 103.903 #inception-v3
MaxVit_T IMAGENET1K_V1 maxvit_t-bc5ab103 224 224 224 30919624 83.7 96.722 5.558 118.769 #maxvit interpolation=bicubic
MNASNet0_5 IMAGENET1K_V1 mnasnet0.5_top1_67.823-3ffadce67e 224 256 1 2218512 67.734 87.49 0.104 8.591 1e100/mnasnet_trainer
MNASNet0_75 IMAGENET1K_V1 mnasnet0_75-7090bc5f 224 232 1 3170208 71.18 90.496 0.215 12.303 pytorch/vision/pull/6019
MNASNet1_0 IMAGENET1K_V1 mnasnet1.0_top1_73.512-f206786ef8 224 256 1 4383312 73.456 91.51 0.314 16.915 1e100/mnasnet_trainer
MNASNet1_3 IMAGENET1K_V1 mnasnet1_3-a4c69d6f 224 232 1 6282256 76.506 93.522 0.526 24.246 pytorch/vision/pull/6019
MobileNet_V2 IMAGENET1K_V1 mobilenet_v2-b0353104 224 256 1 3504872 71.878 90.286 0.301 13.555 #mobilenetv2
MobileNet_V2 IMAGENET1K_V2 mobilenet_v2-7ebf99e0 224 232 1 3504872 72.154 90.822 0.301 13.598 pytorch/vision/issues/3995#new-recipe-with-reg-tuning
MobileNet_V3_Large IMAGENET1K_V1 mobilenet_v3_large-8738ca79 224 256 1 5483032 74.042 91.34 0.217 21.114 #mobilenetv3-large--small
MobileNet_V3_Large IMAGENET1K_V2 mobilenet_v3_large-5c1a4163 224 232 1 5483032 75.274 92.566 0.217 21.107 pytorch/vision/issues/3995#new-recipe-with-reg-tuning
MobileNet_V3_Small IMAGENET1K_V1 mobilenet_v3_small-047dcff4 224 256 1 2542856 67.668 87.402 0.057 9.829 #mobilenetv3-large--small
RegNet_X_16GF IMAGENET1K_V1 regnet_x_16gf-2007eb11 224 256 1 54278536 80.058 94.944 15.941 207.627 #medium-models
RegNet_X_16GF IMAGENET1K_V2 regnet_x_16gf-ba3796d7 224 232 1 54278536 82.716 96.196 15.941 207.627 pytorch/vision/issues/3995#new-recipe
RegNet_X_1_6GF IMAGENET1K_V1 regnet_x_1_6gf-e3633e7f 224 256 1 9190136 77.04 93.44 1.603 35.339 #small-models
RegNet_X_1_6GF IMAGENET1K_V2 regnet_x_1_6gf-a12f2b72 224 232 1 9190136 79.668 94.922 1.603 35.339 pytorch/vision/issues/3995#new-recipe-with-fixres
RegNet_X_32GF IMAGENET1K_V1 regnet_x_32gf-9d47f8d0 224 256 1 107811560 80.622 95.248 31.736 412.039 #large-models
RegNet_X_32GF IMAGENET1K_V2 regnet_x_32gf-6eb8fdc6 224 232 1 107811560 83.014 96.288 31.736 412.039 pytorch/vision/issues/3995#new-recipe
RegNet_X_3_2GF IMAGENET1K_V1 regnet_x_3_2gf-f342aeae 224 256 1 15296552 78.364 93.992 3.177 58.756 #medium-models
RegNet_X_3_2GF IMAGENET1K_V2 regnet_x_3_2gf-7071aa85 224 232 1 15296552 81.196 95.43 3.177 58.756 pytorch/vision/issues/3995#new-recipe
RegNet_X_400MF IMAGENET1K_V1 regnet_x_400mf-adf1edd5 224 256 1 5495976 72.834 90.95 0.414 21.258 #small-models
RegNet_X_400MF IMAGENET1K_V2 regnet_x_400mf-62229a5f 224 232 1 5495976 74.864 92.322 0.414 21.257 pytorch/vision/issues/3995#new-recipe-with-fixres
RegNet_X_800MF IMAGENET1K_V1 regnet_x_800mf-ad17e45c 224 256 1 7259656 75.212 92.348 0.8 27.945 #small-models
RegNet_X_800MF IMAGENET1K_V2 regnet_x_800mf-94a99ebd 224 232 1 7259656 77.522 93.826 0.8 27.945 pytorch/vision/issues/3995#new-recipe-with-fixres
RegNet_X_8GF IMAGENET1K_V1 regnet_x_8gf-03ceed89 224 256 1 39572648 79.344 94.686 7.995 151.456 #medium-models
RegNet_X_8GF IMAGENET1K_V2 regnet_x_8gf-2b70d774 224 232 1 39572648 81.682 95.678 7.995 151.456 pytorch/vision/issues/3995#new-recipe
RegNet_Y_128GF IMAGENET1K_SWAG_E2E_V1 regnet_y_128gf_swag-c8ce3e52 384 384 1 644812894 88.228 98.682 374.57 2461.564 facebookresearch/SWAG interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
RegNet_Y_128GF IMAGENET1K_SWAG_LINEAR_V1 regnet_y_128gf_lc_swag-cbe8ce12 224 224 1 644812894 86.068 97.844 127.518 2461.564 pytorch/vision/pull/5793 interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
RegNet_Y_16GF IMAGENET1K_V1 regnet_y_16gf-9e6ed7dd 224 256 1 83590140 80.424 95.24 15.912 319.49 #large-models
RegNet_Y_16GF IMAGENET1K_V2 regnet_y_16gf-3e4a00f9 224 232 1 83590140 82.886 96.328 15.912 319.49 pytorch/vision/issues/3995#new-recipe
RegNet_Y_16GF IMAGENET1K_SWAG_E2E_V1 regnet_y_16gf_swag-43afe44d 384 384 1 83590140 86.012 98.054 46.735 319.49 facebookresearch/SWAG interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
RegNet_Y_16GF IMAGENET1K_SWAG_LINEAR_V1 regnet_y_16gf_lc_swag-f3ec0043 224 224 1 83590140 83.976 97.244 15.912 319.49 pytorch/vision/pull/5793 interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
RegNet_Y_1_6GF IMAGENET1K_V1 regnet_y_1_6gf-b11a554e 224 256 1 11202430 77.95 93.966 1.612 43.152 #small-models
RegNet_Y_1_6GF IMAGENET1K_V2 regnet_y_1_6gf-0d7bc02a 224 232 1 11202430 80.876 95.444 1.612 43.152 pytorch/vision/issues/3995#new-recipe
RegNet_Y_32GF IMAGENET1K_V1 regnet_y_32gf-4dee3f7a 224 256 1 145046770 80.878 95.34 32.28 554.076 #large-models
RegNet_Y_32GF IMAGENET1K_V2 regnet_y_32gf-8db6d4b5 224 232 1 145046770 83.368 96.498 32.28 554.076 pytorch/vision/issues/3995#new-recipe
RegNet_Y_32GF IMAGENET1K_SWAG_E2E_V1 regnet_y_32gf_swag-04fdfa75 384 384 1 145046770 86.838 98.362 94.826 554.076 facebookresearch/SWAG interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
RegNet_Y_32GF IMAGENET1K_SWAG_LINEAR_V1 regnet_y_32gf_lc_swag-e1583746 224 224 1 145046770 84.622 97.48 32.28 554.076 pytorch/vision/pull/5793 interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
RegNet_Y_3_2GF IMAGENET1K_V1 regnet_y_3_2gf-b5a9779c 224 256 1 19436338 78.948 94.576 3.176 74.567 #medium-models
RegNet_Y_3_2GF IMAGENET1K_V2 regnet_y_3_2gf-9180c971 224 232 1 19436338 81.982 95.972 3.176 74.567 pytorch/vision/issues/3995#new-recipe
RegNet_Y_400MF IMAGENET1K_V1 regnet_y_400mf-c65dace8 224 256 1 4344144 74.046 91.716 0.402 16.806 #small-models
RegNet_Y_400MF IMAGENET1K_V2 regnet_y_400mf-e6988f5f 224 232 1 4344144 75.804 92.742 0.402 16.806 pytorch/vision/issues/3995#new-recipe
RegNet_Y_800MF IMAGENET1K_V1 regnet_y_800mf-1b27b58c 224 256 1 6432512 76.42 93.136 0.834 24.774 #small-models
RegNet_Y_800MF IMAGENET1K_V2 regnet_y_800mf-58fc7688 224 232 1 6432512 78.828 94.502 0.834 24.774 pytorch/vision/issues/3995#new-recipe
RegNet_Y_8GF IMAGENET1K_V1 regnet_y_8gf-d0d0e4a8 224 256 1 39381472 80.032 95.048 8.473 150.701 #medium-models
RegNet_Y_8GF IMAGENET1K_V2 regnet_y_8gf-dc2b1b54 224 232 1 39381472 82.828 96.33 8.473 150.701 pytorch/vision/issues/3995#new-recipe
ResNeXt101_32X8D IMAGENET1K_V1 resnext101_32x8d-8ba56ff5 224 256 1 88791336 79.312 94.526 16.414 339.586 #resnext
ResNeXt101_32X8D IMAGENET1K_V2 resnext101_32x8d-110c445d 224 232 1 88791336 82.834 96.228 16.414 339.673 pytorch/vision/issues/3995#new-recipe-with-fixres
ResNeXt101_64X4D IMAGENET1K_V1 resnext101_64x4d-173b62eb 224 232 1 83455272 83.246 96.454 15.46 319.318 pytorch/vision/pull/5935
ResNeXt50_32X4D IMAGENET1K_V1 resnext50_32x4d-7cdf4587 224 256 1 25028904 77.618 93.698 4.23 95.789 #resnext
ResNeXt50_32X4D IMAGENET1K_V2 resnext50_32x4d-1a0047aa 224 232 1 25028904 81.198 95.34 4.23 95.833 pytorch/vision/issues/3995#new-recipe
ResNet101 IMAGENET1K_V1 resnet101-63fe2227 224 256 1 44549160 77.374 93.546 7.801 170.511 #resnet
ResNet101 IMAGENET1K_V2 resnet101-cd907fc2 224 232 1 44549160 81.886 95.78 7.801 170.53 pytorch/vision/issues/3995#new-recipe
ResNet152 IMAGENET1K_V1 resnet152-394f9c45 224 256 1 60192808 78.312 94.046 11.514 230.434 #resnet
ResNet152 IMAGENET1K_V2 resnet152-f82ba261 224 232 1 60192808 82.284 96.002 11.514 230.474 pytorch/vision/issues/3995#new-recipe
ResNet18 IMAGENET1K_V1 resnet18-f37072fd 224 256 1 11689512 69.758 89.078 1.814 44.661 #resnet
ResNet34 IMAGENET1K_V1 resnet34-b627a593 224 256 1 21797672 73.314 91.42 3.664 83.275 #resnet
ResNet50 IMAGENET1K_V1 resnet50-0676ba61 224 256 1 25557032 76.13 92.862 4.089 97.781 #resnet
ResNet50 IMAGENET1K_V2 resnet50-11ad3fa6 224 232 1 25557032 80.858 95.434 4.089 97.79 pytorch/vision/issues/3995#issuecomment-1013906621
Wide_ResNet101_2 IMAGENET1K_V1 wide_resnet101_2-32ee1156 224 256 1 126886696 78.848 94.284 22.753 242.896 pytorch/vision/pull/912#issue-445437439
Wide_ResNet101_2 IMAGENET1K_V2 wide_resnet101_2-d733dc28 224 232 1 126886696 82.51 96.02 22.753 484.747 pytorch/vision/issues/3995#new-recipe
Wide_ResNet50_2 IMAGENET1K_V1 wide_resnet50_2-95faca4d 224 256 1 68883240 78.468 94.086 11.398 131.82 pytorch/vision/pull/912#issue-445437439
Wide_ResNet50_2 IMAGENET1K_V2 wide_resnet50_2-9ba9bcbe 224 232 1 68883240 81.602 95.758 11.398 263.124 pytorch/vision/issues/3995#new-recipe-with-fixres
ShuffleNet_V2_X0_5 IMAGENET1K_V1 shufflenetv2_x0.5-f707e7126e 224 256 1 1366792 60.552 81.746 0.04 5.282 ericsun99/Shufflenet-v2-Pytorch
ShuffleNet_V2_X1_0 IMAGENET1K_V1 shufflenetv2_x1-5666bf0f80 224 256 1 2278604 69.362 88.316 0.145 8.791 ericsun99/Shufflenet-v2-Pytorch
ShuffleNet_V2_X1_5 IMAGENET1K_V1 shufflenetv2_x1_5-3c479a10 224 232 1 3503624 72.996 91.086 0.296 13.557 pytorch/vision/pull/5906
ShuffleNet_V2_X2_0 IMAGENET1K_V1 shufflenetv2_x2_0-8be3c8ee 224 232 1 7393996 76.23 93.006 0.583 28.433 pytorch/vision/pull/5906
SqueezeNet1_0 IMAGENET1K_V1 squeezenet1_0-b66bff10 224 256 21 1248424 58.092 80.42 0.819 4.778 pytorch/vision/pull/49#issuecomment-277560717
SqueezeNet1_1 IMAGENET1K_V1 squeezenet1_1-b8a52dc0 224 256 17 1235496 58.178 80.624 0.349 4.729 pytorch/vision/pull/49#issuecomment-277560717
Swin_B IMAGENET1K_V1 swin_b-68c6b09e 224 238 224 87768224 83.582 96.64 15.431 335.364 #swintransformer interpolation=bicubic
Swin_S IMAGENET1K_V1 swin_s-5e29d889 224 246 224 49606258 83.196 96.36 8.741 189.786 #swintransformer interpolation=bicubic
Swin_T IMAGENET1K_V1 swin_t-704ceda3 224 232 224 28288354 81.474 95.776 4.491 108.19 #swintransformer interpolation=bicubic
Swin_V2_B IMAGENET1K_V1 swin_v2_b-781e5279 256 272 256 87930848 84.112 96.864 20.325 336.372 #swintransformer-v2 interpolation=bicubic
Swin_V2_S IMAGENET1K_V1 swin_v2_s-637d8ceb 256 260 256 49737442 83.712 96.816 11.546 190.675 #swintransformer-v2 interpolation=bicubic
Swin_V2_T IMAGENET1K_V1 swin_v2_t-b137f0e2 256 260 256 28351570 82.072 96.132 5.94 108.626 #swintransformer-v2 interpolation=bicubic
VGG11_BN IMAGENET1K_V1 vgg11_bn-6002323d 224 256 32 132868840 70.37 89.81 7.609 506.881 #alexnet-and-vgg
VGG11 IMAGENET1K_V1 vgg11-8a719046 224 256 32 132863336 69.02 88.628 7.609 506.84 #alexnet-and-vgg
VGG13_BN IMAGENET1K_V1 vgg13_bn-abd245e5 224 256 32 133053736 71.586 90.374 11.308 507.59 #alexnet-and-vgg
VGG13 IMAGENET1K_V1 vgg13-19584684 224 256 32 133047848 69.928 89.246 11.308 507.545 #alexnet-and-vgg
VGG16_BN IMAGENET1K_V1 vgg16_bn-6c64b313 224 256 32 138365992 73.36 91.516 15.47 527.866 #alexnet-and-vgg
VGG16 IMAGENET1K_V1 vgg16-397923af 224 256 32 138357544 71.592 90.382 15.47 527.796 #alexnet-and-vgg
VGG16 IMAGENET1K_FEATURES vgg16_features-amdegroot-88682ab5 224 256 32 138357544 nan nan 15.47 527.802 amdegroot/ssd.pytorch#training-ssd mean=0.48235,0.45882,0.40784 std=0.00392156862745098,0.00392156862745098,0.00392156862745098
VGG19_BN IMAGENET1K_V1 vgg19_bn-c79401a0 224 256 32 143678248 74.218 91.842 19.632 548.143 #alexnet-and-vgg
VGG19 IMAGENET1K_V1 vgg19-dcbb9e9d 224 256 32 143667240 72.376 90.876 19.632 548.051 #alexnet-and-vgg
ViT_B_16 IMAGENET1K_V1 vit_b_16-c867db91 224 256 224 86567656 81.072 95.318 17.564 330.285 #vit_b_16
ViT_B_16 IMAGENET1K_SWAG_E2E_V1 vit_b_16_swag-9ac1b537 384 384 384 86859496 85.304 97.65 55.484 331.398 facebookresearch/SWAG interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
ViT_B_16 IMAGENET1K_SWAG_LINEAR_V1 vit_b_16_lc_swag-4e70ced5 224 224 224 86567656 81.886 96.18 17.564 330.285 pytorch/vision/pull/5793 interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
ViT_B_32 IMAGENET1K_V1 vit_b_32-d86f8d99 224 256 224 88224232 75.912 92.466 4.409 336.604 #vit_b_32
ViT_H_14 IMAGENET1K_SWAG_E2E_V1 vit_h_14_swag-80465313 518 518 518 633470440 88.552 98.694 1016.717 2416.643 facebookresearch/SWAG interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
ViT_H_14 IMAGENET1K_SWAG_LINEAR_V1 vit_h_14_lc_swag-c1eb923e 224 224 224 632045800 85.708 97.73 167.295 2411.209 pytorch/vision/pull/5793 interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
ViT_L_16 IMAGENET1K_V1 vit_l_16-852ce7e3 224 242 224 304326632 79.662 94.638 61.555 1161.023 #vit_l_16
ViT_L_16 IMAGENET1K_SWAG_E2E_V1 vit_l_16_swag-4f3808c9 512 512 512 305174504 88.064 98.512 361.986 1164.258 facebookresearch/SWAG interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
ViT_L_16 IMAGENET1K_SWAG_LINEAR_V1 vit_l_16_lc_swag-4d563306 224 224 224 304326632 85.146 97.422 61.555 1161.023 pytorch/vision/pull/5793 interpolation=bicubic license=facebookresearch/SWAG/blob/main/LICENSE
ViT_L_32 IMAGENET1K_V1 vit_l_32-c7638314 224 256 224 306535400 76.972 93.07 15.378 1169.449 #vit_l_32
"""
