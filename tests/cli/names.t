# Ids of Hugging Face and timm find the built-in model; nothing is downloaded.
$ for id in meta-llama/Llama-3.1-8B meta-llama/Meta-Llama-3-8B-Instruct google/vit-base-patch16-224 timm/resnet50.a1_in1k resnet50.a1_in1k google-bert/bert-base-uncased Qwen/Qwen2.5-7B-Instruct mistralai/Mixtral-8x7B-Instruct-v0.1 sentence-transformers/all-MiniLM-L6-v2 timm/mobilenetv3_large_100.ra_in1k https://huggingface.co/openai/whisper-tiny hf-hub:timm/convnext_tiny.fb_in1k; do pyrometer cost $id -q | grep Model:; done
  Model:                llama3_1_8b (pt2 8.20, torch 2.13.0)
  Model:                llama3_8b (pt2 8.20, torch 2.13.0)
  Model:                vit_b_16 (pt2 8.20, torch 2.13.0)
  Model:                resnet50 (pt2 8.20, torch 2.13.0)
  Model:                resnet50 (pt2 8.20, torch 2.13.0)
  Model:                bert_base (pt2 8.20, torch 2.13.0)
  Model:                qwen2_5_7b (pt2 8.20, torch 2.13.0)
  Model:                mixtral_8x7b (pt2 8.20, torch 2.13.0)
  Model:                minilm_l6_v2 (pt2 8.20, torch 2.13.0)
  Model:                mobilenet_v3_large (pt2 8.20, torch 2.13.0)
  Model:                whisper_tiny (pt2 8.20, torch 2.13.0)
  Model:                convnext_tiny (pt2 8.20, torch 2.13.0)

$ pyrometer cost google/vit-base-patch16-224 | grep -A2 Notes:
Notes:
  - google/vit-base-patch16-224 is priced as the built-in model vit_b_16 with
    images of 224 x 224; nothing was downloaded

$ pyrometer cost meta-llama/Llama-3.1-8B --decode --past 1000 | grep 'Model:\|Decoding'
  Model:                llama3_1_8b (pt2 8.20, torch 2.13.0)
  Decoding Step:        1 token of 1 sequence over 1000 past tokens

$ pyrometer models facebook/convnext-tiny-224 | grep ^convnext
convnext_tiny  28.59 M  4.46 G  1*x3x224*x224*  image classification

# What is not the same architecture is suggested, not opened.
$ pyrometer cost google/vit-base-patch16-224-in21k
pyrometer: google/vit-base-patch16-224-in21k: no such file or built-in model; vit_b_16 is near it, but may differ in head, vocabulary or element type: pyrometer cost vit_b_16 (nothing is downloaded)
[2]

$ pyrometer cost bert-base-cased
pyrometer: bert-base-cased: no such file or built-in model; bert_base is near it, but may differ in head, vocabulary or element type: pyrometer cost bert_base (nothing is downloaded)
[2]

$ pyrometer cost TheBloke/Llama-2-7B-Chat-GPTQ
pyrometer: TheBloke/Llama-2-7B-Chat-GPTQ: no such file or built-in model; llama2_7b is near it, but may differ in head, vocabulary or element type: pyrometer cost llama2_7b (nothing is downloaded)
[2]

$ pyrometer cost facebook/convnext-base-384
pyrometer: facebook/convnext-base-384: no such file or built-in model; convnext_base is the same at another image size: pyrometer cost convnext_base --input-shape 1,3,384,384 (nothing is downloaded)
[2]

$ pyrometer cost stabilityai/stable-diffusion-xl-base-1.0
pyrometer: stabilityai/stable-diffusion-xl-base-1.0: no such file or built-in model; sdxl_unet is near it, but may differ in head, vocabulary or element type: pyrometer cost sdxl_unet (nothing is downloaded)
[2]

# An id that is not here says so, and names the nearest of its family.
$ pyrometer cost meta-llama/Llama-9-Scout-17B-16E
pyrometer: meta-llama/Llama-9-Scout-17B-16E: no such file, and no built-in model for this id, which is not downloaded; nearest of family llama: llama4_scout, llama2_13b or llama2_7b (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer diff resnet18 nobody/nothing-like-it
pyrometer: nobody/nothing-like-it: no such file, and no built-in model for this id, which is not downloaded (pyrometer models lists the * built-in ones) (glob)
[2]

# A missing file in a folder that is there is a missing file.
$ mkdir $TMP/checkpoints; cd $TMP; pyrometer cost checkpoints/resnet18
pyrometer: checkpoints/resnet18: no such file or model; did you mean resnet18, resnet101 or resnet152? (pyrometer models lists the * built-in ones) (glob)
[2]
