"""What a SoME layer is: router, frozen experts, statistics, keys and the rules that move them. torch and
numpy only."""
