"""somelab's models in Hugging Face's transformers: `AutoModelForCausalLM`, `pipeline`, `generate`, the Hub.

configuration, modeling   the classes that transformers loads; they import transformers
registration              makes them known to the Auto classes
exporting, card, shipping a folder from a run: weights, tokenizer, model card, code"""
