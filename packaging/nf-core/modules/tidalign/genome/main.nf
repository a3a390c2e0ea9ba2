process TIDALIGN_GENOME {
    tag "${meta.id}"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${ task.ext.container ?: 'tidalign:0.1.0' }"

    input:
    tuple val(meta), path(target), path(query)

    output:
    tuple val(meta), path("${prefix}.${suffix}"), emit: alignments
    tuple val(meta), path("${prefix}.${suffix}.bai"), emit: index, optional: true
    path "versions.yml", emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def device = task.accelerator ? 'gpu' : 'cpu'
    prefix = task.ext.prefix ?: "${meta.id}"
    suffix = task.ext.suffix ?: 'maf'
    """
    tidalign genome \\
        ${target} \\
        ${query} \\
        -o ${prefix}.${suffix} \\
        --threads ${task.cpus} \\
        --device ${device} \\
        --quiet \\
        ${args}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        tidalign: \$(tidalign --version | sed 's/tidalign //')
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    suffix = task.ext.suffix ?: 'maf'
    """
    touch ${prefix}.${suffix}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        tidalign: \$(tidalign --version | sed 's/tidalign //')
    END_VERSIONS
    """
}
