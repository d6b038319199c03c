# The datasets. The stamp contains their checksums and is small enough for Snakemake to compare by content.


localrules:
    data,


rule data:
    output:
        STAMP,
    log:
        "logs/data/{dataset}/verified.log",
    benchmark:
        "benchmarks/data/{dataset}/verified.tsv"
    conda:
        "../../envs/snap.yaml"
    shell:
        "snap data fetch --dataset {wildcards.dataset:q} --dir data --stamp {output:q} > {log:q} 2>&1"
